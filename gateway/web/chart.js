// Candles and their volume.
import { CandlestickSeries, HistogramSeries, createChart } from './lightweight-charts.js';

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export class Chart {
  constructor(element) {
    this.chart = createChart(element, {
      autoSize: true,
      timeScale: { timeVisible: true, secondsVisible: false, barSpacing: 8, rightOffset: 4 },
      crosshair: { mode: 0 },
    });
    this.candles = this.chart.addSeries(CandlestickSeries, {});
    this.volume = this.chart.addSeries(HistogramSeries, {
      priceScaleId: 'volume', priceFormat: { type: 'volume' }, lastValueVisible: false, priceLineVisible: false,
    });
    this.chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    this.last = 0;
    this.theme();
  }

  theme() {
    const [up, down, line] = [color('--up'), color('--down'), color('--line')];
    this.chart.applyOptions({
      layout: { background: { color: color('--panel') }, textColor: color('--soft') },
      grid: { vertLines: { color: line }, horzLines: { color: line } },
      timeScale: { borderColor: line },
      rightPriceScale: { borderColor: line },
    });
    this.candles.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down, borderVisible: false });
  }

  // Decimals of the tick.
  precision(decimals) {
    this.candles.applyOptions({ priceFormat: { type: 'price', precision: decimals, minMove: 10 ** -decimals } });
  }

  // Rows of GET /spot/klines, all of them.
  set(rows) {
    this.candles.setData(rows.map(candle));
    this.volume.setData(rows.map(bar));
    this.last = rows.length ? rows[rows.length - 1][0] : 0;
  }

  // One row, the newest or the one after it.
  update(row) {
    if (row[0] < this.last) return;
    this.last = row[0];
    this.candles.update(candle(row));
    this.volume.update(bar(row));
  }
}

const candle = ([time, open, high, low, close]) =>
  ({ time, open: Number(open), high: Number(high), low: Number(low), close: Number(close) });

const bar = ([time, open, , , close, volume]) =>
  ({ time, value: Number(volume), color: color(Number(close) < Number(open) ? '--down-back' : '--up-back') });
