/* thrift.js - how many pictures a second a phone should take, given what the server wants and what the phone can
 *
 * The server's rate is the upper bound. Below it: a low battery halves it, a hot processor halves or quarters it, and while there is
 * no connection pictures are only kept, so few are. An encoder that is slower than the rate bounds it by itself. */

export const OFFLINE_RATE = 2;

export function rateFor({ server, most, encodeMs, battery, pressure, online }) {
  let rate = Math.min(server ?? 30, most ?? 30);
  if (encodeMs > 0) rate = Math.min(rate, 900 / encodeMs);
  if (battery && !battery.charging && battery.level < 0.15) rate /= 2;
  if (pressure === 'serious') rate /= 2;
  if (pressure === 'critical') rate /= 4;
  if (!online) rate = Math.min(rate, OFFLINE_RATE);
  return Math.max(rate, 0.2);
}

/** What the browser says of battery and heat, as far as it does. */
export class Thrift {
  constructor() {
    this.battery = null;
    this.pressure = 'nominal';
    navigator.getBattery?.().then(b => { this.battery = b; }).catch(() => {});
    if (globalThis.PressureObserver) {
      this.observer = new PressureObserver(records => { this.pressure = records.at(-1).state; });
      Promise.resolve(this.observer.observe('cpu', { sampleInterval: 2000 })).catch(() => {});
    }
  }

  close() {
    this.observer?.disconnect();
  }

  /** A sentence where the rate falls because of the phone; '' where it does not. */
  get sentence() {
    if (this.pressure === 'serious' || this.pressure === 'critical') return 'This device is hot: fewer pictures are taken.';
    if (this.battery && !this.battery.charging && this.battery.level < 0.15) return 'The battery is low: fewer pictures are taken.';
    return '';
  }
}
