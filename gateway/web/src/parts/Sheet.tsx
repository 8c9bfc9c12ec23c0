// The ticket on a phone: a sheet from below.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { market } from '../store/market';
import { isSheetOpen } from '../store/view';
import { Ticket } from './ticket/Ticket';

export function Sheet() {
  const element = useRef<HTMLDialogElement>(null);
  const isOpen = isSheetOpen.value;
  useLayoutEffect(() => {
    if (isOpen && !element.current?.open) element.current?.showModal();
    if (!isOpen) element.current?.close();
  }, [isOpen]);
  const close = (): void => {
    isSheetOpen.value = false;
  };
  return (
    <dialog id="sheet" class="sheet" ref={element} aria-label="Order ticket" onClose={close} onClick={(event) => event.target === element.current && close()}>
      {isOpen && (
        <div class="dialog">
          <header><h2>{market.value?.symbol}</h2><button type="button" class="quiet" aria-label="Close" onClick={close}>✕</button></header>
          <Ticket />
        </div>
      )}
    </dialog>
  );
}
