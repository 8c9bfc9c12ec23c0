// What may be bought and sold up to which price: the book as two hills.
import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { decimalsOf } from '../lib/decimal';
import { short } from '../lib/format';
import { book, bookVersion, market } from '../store/market';
import { theme } from '../store/preferences';

const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

type Point = [price: number, sum: number];

function hill(side: 'bids' | 'asks', within: number, middle: number): Point[] {
  let sum = 0;
  const points: Point[] = [];
  for (const [price, quantity] of book.sorted(side)) {
    if (Math.abs(Number(price) - middle) > within) break;
    points.push([Number(price), (sum += Number(quantity))]);
  }
  return points;
}

export function DepthChart() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointer, setPointer] = useState<number | null>(null);
  const [size, setSize] = useState<[number, number]>([0, 0]);
  const [legend, setLegend] = useState('');
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => entry && setSize([entry.contentRect.width, entry.contentRect.height]));
    if (canvas.current?.parentElement) watcher.observe(canvas.current.parentElement);
    return () => watcher.disconnect();
  }, []);
  const draw = (): void => {
    const context = canvas.current?.getContext('2d');
    const of = market.value;
    const [width, height] = size;
    if (!context || !of || !width) return;
    const ratio = devicePixelRatio;
    canvas.current!.width = width * ratio;
    canvas.current!.height = height * ratio;
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, height);
    const [bid, ask] = [Number(book.best('bids')), Number(book.best('asks'))];
    if (!bid || !ask) return setLegend('');
    const middle = (bid + ask) / 2;
    const far = Math.max(middle - Number(book.sorted('bids').at(-1)![0]), Number(book.sorted('asks').at(-1)![0]) - middle);
    const within = Math.min(far, middle * 0.05);
    const hills = [hill('bids', within, middle), hill('asks', within, middle)] as const;
    const most = Math.max(...hills.map((points) => points.at(-1)?.[1] ?? 0)) * 1.08 || 1;
    const floor = height - 22;
    const x = (price: number): number => ((price - middle + within) / (2 * within)) * width;
    const y = (sum: number): number => floor - (sum / most) * (floor - 26);
    context.font = '11px system-ui, sans-serif';
    hills.forEach((points, at) => {
      const end = at === 0 ? 0 : width;
      context.beginPath();
      context.moveTo(x(points[0]?.[0] ?? middle), floor);
      let before = 0;
      for (const [price, sum] of points) {
        context.lineTo(x(price), y(before));
        context.lineTo(x(price), y(sum));
        before = sum;
      }
      context.lineTo(end, y(before));
      context.strokeStyle = color(at === 0 ? '--up' : '--down');
      context.lineWidth = 1.5;
      context.stroke();
      context.lineTo(end, floor);
      context.closePath();
      context.fillStyle = color(at === 0 ? '--up-back' : '--down-back');
      context.fill();
    });
    context.fillStyle = color('--soft');
    context.textAlign = 'center';
    const decimals = decimalsOf(of.tick);
    for (const part of [0.1, 0.3, 0.5, 0.7, 0.9]) context.fillText((middle - within + part * 2 * within).toFixed(decimals), part * width, height - 7);
    if (pointer === null) return setLegend(`Middle ${middle.toFixed(decimals)}`);
    const price = middle - within + (pointer / width) * 2 * within;
    const points = hills[price < middle ? 0 : 1];
    const sum = points.filter(([at]) => (price < middle ? at >= price : at <= price)).at(-1)?.[1] ?? 0;
    context.strokeStyle = color('--soft');
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(pointer, 24);
    context.lineTo(pointer, floor);
    context.stroke();
    const away = (100 * (price - middle)) / middle;
    setLegend(`${price < middle ? 'Bids' : 'Asks'} to ${price.toFixed(decimals)} (${away.toFixed(2)}%): ${short(sum)} ${of.base}, ${short(sum * price)} ${of.quote}`);
  };
  useSignalEffect(() => {
    void bookVersion.value;
    void theme.value;
    void market.value;
    draw();
  });
  useEffect(draw, [size, pointer]);
  return (
    <div class="chart-box">
      <p class="legend">{legend}</p>
      <div id="depth-chart">
        <canvas
          ref={canvas} role="img" aria-label="Depth of the book" style={{ width: '100%', height: '100%' }}
          onPointerMove={(event) => setPointer(event.offsetX)} onPointerLeave={() => setPointer(null)}
        />
      </div>
    </div>
  );
}
