// What just happened.
import { dismiss, toasts } from '../store/toasts';

export function Toasts() {
  return (
    <div id="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, mood, title, text }) => (
        <div key={id} class={`toast ${mood}`}>
          <div><strong>{title}</strong>{text && <p>{text}</p>}</div>
          <button type="button" class="quiet" aria-label={`Dismiss: ${title}`} onClick={() => dismiss(id)}>✕</button>
        </div>
      ))}
    </div>
  );
}
