/* encode-worker.js - pictures become JPEG beside the page's own thread
 *
 * In: { id, picture: VideoFrame | ImageBitmap | ImageData, width, height, quality }; out: { id, jpeg: ArrayBuffer } or { id, error } */
let canvas = null, context = null;

onmessage = async ({ data: { id, picture, width, height, quality } }) => {
  try {
    if (!canvas || canvas.width !== width || canvas.height !== height) {
      canvas = new OffscreenCanvas(width, height);
      context = canvas.getContext('2d', { alpha: false });
    }
    if (picture instanceof ImageData) context.putImageData(picture, 0, 0);
    else context.drawImage(picture, 0, 0, width, height);
    picture.close?.();
    const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality });
    const jpeg = await blob.arrayBuffer();
    postMessage({ id, jpeg }, [jpeg]);
  } catch (why) {
    picture?.close?.();
    postMessage({ id, error: String(why?.message ?? why) });
  }
};
