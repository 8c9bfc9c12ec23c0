// Small parts that all others are made of.
import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { dialog } from '../store/view';

export function Field(props: {
  label: string;
  name: string;
  value: string;
  unit?: ComponentChildren;
  fault?: string | null;
  hint?: string;
  isDisabled?: boolean;
  onInput: (text: string) => void;
}) {
  const { label, name, value, unit, fault, hint, isDisabled, onInput } = props;
  const note = fault ?? hint;
  return (
    <div class="field">
      <label class={fault ? 'box wrong' : 'box'}>
        <span>{label}</span>
        <input
          name={name} inputMode="decimal" autocomplete="off" spellcheck={false} placeholder="0" value={value} disabled={isDisabled}
          aria-invalid={Boolean(fault)} aria-describedby={note ? `${name}-note` : undefined}
          onInput={(event) => onInput(event.currentTarget.value.replace(',', '.').trim())}
        />
        {unit && <i>{unit}</i>}
      </label>
      {note && <p id={`${name}-note`} class={fault ? 'note bad' : 'note'}>{note}</p>}
    </div>
  );
}

// One of a few; the arrows go from one to the next.
export function Segmented<T extends string>(props: {
  label: string;
  name: string;
  options: ReadonlyArray<readonly [T, string]>;
  value: T;
  moods?: Partial<Record<T, string>>;
  onChoose: (value: T) => void;
}) {
  return (
    <fieldset class="segmented">
      <legend class="unseen">{props.label}</legend>
      {props.options.map(([value, text]) => (
        <label key={value} class={props.moods?.[value]}>
          <input type="radio" name={props.name} value={value} checked={props.value === value} onChange={() => props.onChoose(value)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}

export function Check(props: { label: string; name: string; isOn: boolean; isDisabled?: boolean; onChange: (isOn: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" name={props.name} checked={props.isOn} disabled={props.isDisabled} onChange={(event) => props.onChange(event.currentTarget.checked)} />
      <span>{props.label}</span>
    </label>
  );
}

export function Tabs<T extends string>(props: {
  label: string;
  tabs: ReadonlyArray<readonly [T, ComponentChildren]>;
  value: T;
  onChoose: (value: T) => void;
  children?: ComponentChildren;
}) {
  const onKey = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!step) return;
    const at = props.tabs.findIndex(([value]) => value === props.value);
    const next = (at + step + props.tabs.length) % props.tabs.length;
    props.onChoose(props.tabs[next]![0]);
    event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={props.label} onKeyDown={onKey}>
        {props.tabs.map(([value, text]) => (
          <button
            key={value} type="button" role="tab" data-tab={value} aria-selected={props.value === value} tabIndex={props.value === value ? 0 : -1}
            onClick={() => props.onChoose(value)}
          >
            {text}
          </button>
        ))}
      </div>
      {props.children}
    </div>
  );
}

// A table whose head stays while its rows scroll. Its first columns, one or `left`, are words; the others are figures.
export function Table(props: { label: string; head: ComponentChildren[]; children: ComponentChildren; id?: string; left?: number; empty?: string | null }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={props.label}>
      <table class={`left-${props.left ?? 1}`}>
        <thead><tr>{props.head.map((name, at) => <th key={at} scope="col">{name || <span class="unseen">Acts</span>}</th>)}</tr></thead>
        <tbody id={props.id}>{props.children}</tbody>
      </table>
      {props.empty && <p class="empty">{props.empty}</p>}
    </div>
  );
}

export function DialogHost() {
  const element = useRef<HTMLDialogElement>(null);
  const open = dialog.value;
  const close = (): void => {
    dialog.value = null;
  };
  useLayoutEffect(() => {
    if (open && !element.current?.open) element.current?.showModal();
    if (!open) element.current?.close();
  }, [open]);
  return (
    <dialog id="dialog" ref={element} aria-labelledby="dialog-title" onClose={close} onClick={(event) => event.target === element.current && close()}>
      {open && (
        <div class="dialog">
          <header><h2 id="dialog-title">{open.title}</h2><button type="button" class="quiet" aria-label="Close" onClick={close}>✕</button></header>
          {open.body(close)}
        </div>
      )}
    </dialog>
  );
}

// What opens below a button, until Escape is pressed or something else is.
export function Menu(props: { id: string; face: ComponentChildren; class: string; label?: string; children: (close: () => void) => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="menu" onKeyDown={(event) => event.key === 'Escape' && setOpen(false)} onBlurCapture={(event) => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOpen(false);
    }}>
      <button id={props.id} type="button" class={props.class} aria-label={props.label} aria-haspopup="true" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{props.face}</button>
      {isOpen && <div class="menu-items" tabIndex={-1}>{props.children(() => setOpen(false))}</div>}
    </div>
  );
}

// Name and figure.
export function Fact(props: { name: ComponentChildren; children: ComponentChildren; mood?: string; title?: string; id?: string }) {
  return <div class="fact" title={props.title}><dt>{props.name}</dt><dd class={props.mood} id={props.id}>{props.children}</dd></div>;
}
