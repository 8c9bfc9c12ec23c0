// What of the page is shown: the page by the address behind #, the tab on a phone, and the dialog that is open.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

export type Page = 'trade' | 'wallet' | 'proof' | 'keys';
export const PAGES: Array<[Page, string]> = [['trade', 'Trade'], ['wallet', 'Wallet'], ['proof', 'Proof'], ['keys', 'API keys']];

const pageOf = (): Page => PAGES.find(([name]) => location.hash === `#/${name}`)?.[0] ?? 'trade';
export const page = signal<Page>(pageOf());
addEventListener('hashchange', () => {
  page.value = pageOf();
});

export type PhoneTab = 'chart' | 'book' | 'trades' | 'account';
export const phoneTab = signal<PhoneTab>('chart');
export const isSheetOpen = signal(false);
export const isMarketListOpen = signal(false);
export const chartKind = signal<'price' | 'depth'>('price');

export interface OpenDialog {
  title: string;
  body: (close: () => void) => ComponentChildren;
}
export const dialog = signal<OpenDialog | null>(null);
export const openDialog = (title: string, body: OpenDialog['body']): void => {
  dialog.value = { title, body };
};

const narrow = matchMedia('(max-width: 899px)');
export const isPhone = signal(narrow.matches);
narrow.addEventListener('change', () => {
  isPhone.value = narrow.matches;
});
