// Said across the page while nothing arrives from the exchange.
import { useEffect, useState } from 'preact/hooks';
import { reconnectNow, retryAt, streamState } from '../api/stream';

export function Banner() {
  const [, tick] = useState(0);
  const isLost = streamState.value === 'lost';
  useEffect(() => {
    if (!isLost) return;
    const timer = setInterval(() => tick((count) => count + 1), 250);
    return () => clearInterval(timer);
  }, [isLost]);
  if (!isLost) return null;
  const left = Math.max(0, Math.ceil((retryAt.value - Date.now()) / 1_000));
  return (
    <div id="disconnected" class="banner" role="alert">
      <strong>Disconnected.</strong> <span>What you see is old. {left > 0 ? `Trying again in ${left} s.` : 'Trying now…'}</span>
      <button type="button" class="outline" onClick={reconnectNow}>Try now</button>
    </div>
  );
}
