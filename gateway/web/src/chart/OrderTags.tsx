// Own orders at their lines of the chart: dragged to another price, or moved by the arrows, and canceled. A press that is let go, or
// Enter, amends; Escape leaves the order as it was.
import { signal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { add, compare, decimalsOf, isPositive, multiply, nearestTo, subtract } from '../lib/decimal';
import { exact } from '../lib/format';
import { amend, cancel } from '../live/trade';
import { openOrders, orderKey } from '../store/account';
import { market } from '../store/market';
import type { Market, Order } from '../store/types';
import { kindOf, lineOf } from '../words/orders';
import type { Drawing } from './drawing';

const LARGE_STEP = '10';

// The order that is being moved and where it is now; `isSent` until the exchange has answered.
export const moving = signal<{ key: string; price: string; isSent: boolean } | null>(null);

const stay = (): void => {
  if (!moving.value?.isSent) moving.value = null;
};

// Where an order's line is drawn: its price, or the trigger it waits for.
export const drawnAt = (order: Order): string | null => {
  const now = moving.value;
  return now?.key === orderKey(order) ? now.price : lineOf(order);
};

// `drawn` counts how often the chart was drawn: lines may have moved with it.
export function OrderTags({ drawing, drawn }: { drawing: Drawing | null; drawn: Signal<number> }) {
  void drawn.value;
  const of = market.value;
  const isMoving = moving.value !== null;
  useEffect(() => {
    if (!isMoving) return;
    // Before anything else hears it: what is open beside stays open.
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      event.preventDefault();
      stay();
    };
    addEventListener('keydown', onKey, true);
    addEventListener('blur', stay);
    return () => {
      removeEventListener('keydown', onKey, true);
      removeEventListener('blur', stay);
    };
  }, [isMoving]);
  if (!drawing || !of) return null;
  const orders = openOrders.value.filter(({ venue, symbol }) => venue === of.venue && symbol === of.symbol);
  return (
    <div class="order-tags">
      {orders.map((order) => {
        const at = drawnAt(order);
        const y = at === null ? null : drawing.yOf(Number(at));
        return y === null || at === null ? null : <Tag key={orderKey(order)} order={order} of={of} drawing={drawing} at={at} y={y} />;
      })}
    </div>
  );
}

function Tag({ order, of, drawing, at, y }: { order: Order; of: Market; drawing: Drawing; at: string; y: number }) {
  const key = orderKey(order);
  const isMoved = moving.value?.key === key;
  const isSent = isMoved && moving.value?.isSent;
  useEffect(() => () => {
    // Filled or canceled under the hand.
    if (moving.value?.key === key) moving.value = null;
  }, [key]);
  const move = (price: string | null): void => {
    if (price && isPositive(price) && !isSent) moving.value = { key, price, isSent: false };
  };
  const confirm = async (): Promise<void> => {
    const now = moving.value;
    if (now?.key !== key || now.isSent) return;
    if (compare(now.price, order.price ?? '0') === 0) return stay();
    moving.value = { ...now, isSent: true };
    await amend(order, now.price, order.quantity);
    moving.value = null;
  };
  // A pixel is no price: the tick that is nearest to it is one.
  const pointed = (event: PointerEvent): string | null => {
    const box = (event.currentTarget as HTMLElement).closest('.order-tags')!.getBoundingClientRect();
    const price = drawing.priceAt(event.clientY - box.top);
    return price === null || price <= 0 ? null : nearestTo(price.toFixed(decimalsOf(of.tick) + 1), of.tick);
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.shiftKey ? multiply(of.tick, LARGE_STEP) : of.tick;
    if (event.key === 'ArrowUp') move(add(at, step));
    else if (event.key === 'ArrowDown') move(subtract(at, step));
    else if (event.key === 'Enter') void confirm();
    else return;
    event.preventDefault();
  };
  const canMove = order.type === 'limit' && order.price !== null;
  const size = order.closePosition ? '' : exact(order.quantity);
  const what = `${order.type === 'limit' ? (order.side === 'buy' ? 'Buy' : 'Sell') : kindOf(order)} ${size}`.trim();
  return (
    <div class={`order-tag ${order.side}${isMoved ? ' moved' : ''}`} data-order={order.id} style={{ top: `${y}px` }}>
      {canMove ? (
        <button
          type="button" class="grip" disabled={isSent} aria-label={`${what} at ${at}: drag it to another price, or use the arrows and Enter`}
          title="Drag to amend; Escape leaves it" onKeyDown={onKey} onBlur={stay}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            move(at);
          }}
          onPointerMove={(event) => {
            // After Escape the pointer is still held, and moves nothing.
            if (isMoved && event.currentTarget.hasPointerCapture(event.pointerId)) move(pointed(event));
          }}
          onPointerUp={() => void confirm()} onPointerCancel={stay}
        >{isMoved ? `${what} → ${at}` : what}</button>
      ) : <span class="grip">{what}</span>}
      <button type="button" class="end" aria-label={`Cancel ${what} at ${at}`} title="Cancel" onClick={() => void cancel(order)}>✕</button>
    </div>
  );
}
