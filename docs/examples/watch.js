/* watch.js - makes a session, feeds it with the camera for some seconds, and checks that its cloud is the server's: the client package
 * in 30 lines. watch.html#server=http://127.0.0.1:8700[&token=TOKEN][&seconds=N]; the server must allow this page's origin (loopback's are). */
const args = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const { Client, LocalMirror, Rest } = await import(args.server + '/client/recond.js');
const say = text => { document.body.append(text, document.createElement('br')); };

const rest = new Rest({ base: args.server, token: args.token });
const session = await rest.create({ name: 'watch', pose_source: 'learned' });
const mirror = new LocalMirror();
const client = new Client({ url: session.stream_url, token: session.tokens.ingest, role: 'ingest', pose: 'cv', mirror, rest });
client.on('error', why => say(why.message));
client.on('ack', m => say(`${m.seq}: ${m.status} ${m.reason ?? ''}`));
client.on('sync', m => say(`the server has ${m.points} points, ${m.hash}`));
await client.start();

const video = document.querySelector('video');
video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { width: 640, height: 480 } });
await video.play();
const canvas = new OffscreenCanvas(640, 480);
for (const end = performance.now() + 1000 * (args.seconds ?? 10); performance.now() < end; await new Promise(then => setTimeout(then, 100))) {
  if (!client.roomy) continue;                /* the server is behind: this picture is not taken */
  canvas.getContext('2d').drawImage(video, 0, 0, 640, 480);
  const jpeg = await (await canvas.convertToBlob({ type: 'image/jpeg', quality: (client.jpeg ?? 85) / 100 })).arrayBuffer();
  client.feed({ jpeg, width: 640, height: 480, tNs: client.now(), intrinsics: [500, 500, 319.5, 239.5] });
}
client.end();
client.on('ended', () => setInterval(async () => {
  document.title = mirror.hash === (await rest.session(session.id)).hash ? 'done' : 'not yet';
}, 200));
