// How long orders take from the press to the answer, measured here, beside what the venue says of itself.
import { lastEvent, median, p99, samples, venueLatency } from '../live/latency';
import { openDialog } from '../store/view';
import { Fact } from './ui';

const ms = (value: number | null): string => (value === null ? '–' : value < 10 ? `${value.toFixed(1)} ms` : `${value.toFixed(0)} ms`);
const us = (value: number | null | undefined): string => (value == null ? '–' : value < 1_000 ? `≤ ${value.toFixed(0)} µs` : `≤ ${(value / 1_000).toFixed(1)} ms`);

export function LatencyChip() {
  const last = samples.value.at(-1) ?? null;
  return (
    <button
      id="latency" type="button" class="chip" title="Order to acknowledgement"
      onClick={() => openDialog('Order to acknowledgement', () => <Latency />)}
    >
      <span aria-hidden="true">⚡</span>
      <span class="unseen">Order to acknowledgement: </span>
      {last === null ? us(venueLatency.value?.p50_us) : ms(last)}
    </button>
  );
}

function Latency() {
  const said = venueLatency.value;
  return (
    <>
      <h3>Measured in this page</h3>
      <dl class="facts">
        <Fact name="Last order">{ms(samples.value.at(-1) ?? null)}</Fact>
        <Fact name="Median">{ms(median.value)}</Fact>
        <Fact name="99th percentile">{ms(p99.value)}</Fact>
        <Fact name="Orders">{samples.value.length}</Fact>
        <Fact name="Last order to its event">{ms(lastEvent.value)}</Fact>
      </dl>
      <p class="note">From the press to the answer: browser, network and venue together.</p>
      <h3>The venue says of itself</h3>
      <dl class="facts">
        <Fact name="Median">{us(said?.p50_us)}</Fact>
        <Fact name="99th percentile">{us(said?.p99_us)}</Fact>
        <Fact name="Orders and cancels">{said ? said.count.toLocaleString('en') : '–'}</Fact>
      </dl>
      <p class="note">From a request's head to its answer, of all orders, cancels and amendments since it started; an answer leaves when its command is kept.</p>
    </>
  );
}
