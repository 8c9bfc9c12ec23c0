// Candles, volume and studies drawn by lightweight-charts, with the account's own lines on them. This is the one file that knows
// the library; it is loaded after the first paint.
import {
  CandlestickSeries, HistogramSeries, LineSeries, LineStyle, createChart, type IChartApi, type IPriceLine, type ISeriesApi,
  type Logical, type MouseEventParams, type Time, type UTCTimestamp,
} from 'lightweight-charts';
import type { Candle } from '../store/types';
import { STUDIES, type Study } from './indicators';

// A line across the chart: an order, an entry, a liquidation.
export interface Marked {
  price: number;
  title: string;
  color: string;
  isDashed: boolean;
}

export interface Pointed {
  candle: Candle;
  studies: Array<{ label: string; color: string; values: string }>;
}

const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const two = (value: number): string => String(value).padStart(2, '0');
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

// Years, months, days and times of the axis, in the visitor's time zone.
function tick(seconds: number, kind: number): string {
  const at = new Date(1_000 * seconds);
  if (kind === 0) return String(at.getFullYear());
  if (kind === 1) return MONTHS[at.getMonth()]!;
  if (kind === 2) return `${at.getDate()} ${MONTHS[at.getMonth()]}`;
  const midnight = at.getHours() === 0 && at.getMinutes() === 0;
  return midnight ? `${at.getDate()} ${MONTHS[at.getMonth()]}` : `${two(at.getHours())}:${two(at.getMinutes())}`;
}

const whole = (seconds: number): string => {
  const at = new Date(1_000 * seconds);
  return `${at.getDate()} ${MONTHS[at.getMonth()]} ${two(at.getHours())}:${two(at.getMinutes())}`;
};

export class Drawing {
  private readonly chart: IChartApi;
  private readonly candles: ISeriesApi<'Candlestick'>;
  private readonly volume: ISeriesApi<'Histogram'>;
  private studies: Array<{ study: Study; series: Array<ISeriesApi<'Line'>> }> = [];
  private lines: IPriceLine[] = [];
  private rows: Candle[] = [];
  private decimals = 2;
  private isAsking = false;

  constructor(
    element: HTMLElement,
    private readonly onPoint: (pointed: Pointed | null) => void,
    private readonly onOlder: (before: number) => Promise<Candle[]>,
    // Prices may stand elsewhere than before.
    onDraw: () => void,
  ) {
    this.chart = createChart(element, {
      autoSize: true,
      timeScale: { timeVisible: true, secondsVisible: false, barSpacing: 7, rightOffset: 6, tickMarkFormatter: (time: Time, kind: number) => tick(time as number, kind) },
      localization: { timeFormatter: (time: Time) => whole(time as number) },
      crosshair: { mode: 0 },
    });
    this.candles = this.chart.addSeries(CandlestickSeries, {});
    this.volume = this.chart.addSeries(HistogramSeries, {
      priceScaleId: 'volume', priceFormat: { type: 'volume' }, lastValueVisible: false, priceLineVisible: false,
    });
    this.chart.priceScale('right').applyOptions({ scaleMargins: { top: 0.08, bottom: 0.24 } });
    this.chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
    this.chart.subscribeCrosshairMove((event) => this.point(event));
    this.chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
      if (range && range.from < 10) void this.older();
    });
    this.candles.attachPrimitive({ updateAllViews: onDraw });
    this.paint();
  }

  remove(): void {
    this.chart.remove();
  }

  paint(): void {
    const [up, down, line] = [color('--up'), color('--down'), color('--line')];
    this.chart.applyOptions({
      layout: {
        background: { color: color('--panel') }, textColor: color('--soft'), fontSize: 11, fontFamily: 'inherit',
        panes: { separatorColor: line, separatorHoverColor: line },
      },
      grid: { vertLines: { color: color('--grid') }, horzLines: { color: color('--grid') } },
      timeScale: { borderColor: line },
      rightPriceScale: { borderColor: line },
    });
    this.candles.applyOptions({ upColor: up, downColor: down, wickUpColor: up, wickDownColor: down, borderVisible: false });
    for (const { study, series } of this.studies) for (const one of series) one.applyOptions({ color: color(study.color) });
    this.volume.setData(this.rows.map(bar));
  }

  precision(decimals: number): void {
    this.decimals = decimals;
    this.candles.applyOptions({ priceFormat: { type: 'price', precision: decimals, minMove: 10 ** -decimals } });
  }

  set(rows: Candle[]): void {
    this.rows = rows;
    this.draw();
    this.chart.timeScale().scrollToRealTime();
  }

  // The newest row or the one after it.
  update(row: Candle): void {
    const last = this.rows.at(-1);
    if (last && row.time < last.time) return;
    if (last?.time === row.time) this.rows[this.rows.length - 1] = row;
    else this.rows.push(row);
    this.candles.update(shown(row));
    this.volume.update(bar(row));
    for (const { study, series } of this.studies) {
      study.lines(this.rows.slice(-250)).forEach((line, at) => {
        const value = line.at(-1);
        if (value != null) series[at]?.update({ time: row.time as UTCTimestamp, value });
      });
    }
  }

  study(names: string[]): void {
    for (const { series } of this.studies) for (const one of series) this.chart.removeSeries(one);
    this.studies = STUDIES.filter(({ name }) => names.includes(name)).map((study) => {
      const count = study.lines([]).length;
      const options = { color: color(study.color), lineWidth: 1 as const, priceLineVisible: false, lastValueVisible: study.isApart ?? false, crosshairMarkerVisible: false };
      return { study, series: Array.from({ length: count }, () => this.chart.addSeries(LineSeries, options, study.isApart ? 1 : 0)) };
    });
    const apart = this.chart.panes()[1];
    if (apart) apart.setHeight(90);
    this.drawStudies();
  }

  mark(marked: Marked[]): void {
    for (const line of this.lines) this.candles.removePriceLine(line);
    this.lines = marked.map(({ price, title, color: own, isDashed }) =>
      this.candles.createPriceLine({ price, title, color: own, lineWidth: 1, axisLabelVisible: true, lineStyle: isDashed ? LineStyle.Dashed : LineStyle.Solid }));
  }

  // Pixels from the top at which a price stands; null where there is nothing to measure by.
  yOf(price: number): number | null {
    return this.candles.priceToCoordinate(price);
  }

  priceAt(y: number): number | null {
    return this.candles.coordinateToPrice(y);
  }

  private draw(): void {
    this.candles.setData(this.rows.map(shown));
    this.volume.setData(this.rows.map(bar));
    this.drawStudies();
  }

  private drawStudies(): void {
    for (const { study, series } of this.studies) {
      study.lines(this.rows).forEach((line, at) => {
        const points = line.flatMap((value, index) => (value === null ? [] : [{ time: this.rows[index]!.time as UTCTimestamp, value }]));
        series[at]?.setData(points);
      });
    }
  }

  private async older(): Promise<void> {
    const first = this.rows[0];
    if (this.isAsking || !first || this.rows.length < 100) return;
    this.isAsking = true;
    const rows = await this.onOlder(first.time);
    if (rows.length && this.rows[0] === first) {
      const range = this.chart.timeScale().getVisibleLogicalRange();
      this.rows = [...rows.filter(({ time }) => time < first.time), ...this.rows];
      this.draw();
      if (range) {
        const moved = { from: (range.from + rows.length) as Logical, to: (range.to + rows.length) as Logical };
        this.chart.timeScale().setVisibleLogicalRange(moved);
      }
    }
    // Nothing older: not asked for again until all is read anew.
    this.isAsking = rows.length === 0;
  }

  private point(event: MouseEventParams): void {
    const at = event.time === undefined ? -1 : this.rows.findIndex(({ time }) => time === event.time);
    const candle = this.rows[at];
    if (!candle) return this.onPoint(null);
    const studies = this.studies.map(({ study, series }) => ({
      label: study.label, color: study.color,
      values: series.map((one) => {
        const point = event.seriesData.get(one) as { value?: number } | undefined;
        return point?.value === undefined ? '' : point.value.toFixed(study.isApart ? 1 : this.decimals);
      }).filter(Boolean).join(' / '),
    }));
    this.onPoint({ candle, studies: studies.filter(({ values }) => values) });
  }
}

const shown = ({ time, open, high, low, close }: Candle) => ({ time: time as UTCTimestamp, open, high, low, close });
const bar = ({ time, open, close, volume }: Candle) =>
  ({ time: time as UTCTimestamp, value: volume, color: color(close < open ? '--down-back' : '--up-back') });
