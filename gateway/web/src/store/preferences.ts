// What the visitor has chosen, kept in this browser.
import { effect, signal, type Signal } from '@preact/signals';

function kept<T>(name: string, first: T): Signal<T> {
  const stored = localStorage.getItem(name);
  let value = first;
  try {
    if (stored !== null) value = JSON.parse(stored) as T;
  } catch {
    // Of another version of the page.
  }
  const made = signal<T>(value);
  effect(() => localStorage.setItem(name, JSON.stringify(made.value)));
  return made;
}

export type Theme = 'dark' | 'light';

export const theme = kept<Theme>('theme', matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark');
// What is drawn in colours of the style is drawn anew when it changes: the style changes first.
export function setTheme(name: Theme): void {
  document.documentElement.dataset.theme = name;
  theme.value = name;
}
export const turnTheme = (): void => setTheme(theme.value === 'dark' ? 'light' : 'dark');

export const lastMarket = kept<string>('market', '');
export const interval = kept<string>('interval', '1m');
export const indicators = kept<string[]>('indicators', ['ma7', 'ma25']);
export const asksFirst = kept<boolean>('confirm', true);
export const onlyThisMarket = kept<boolean>('only-this-market', false);
export const sizeUnit = kept<'base' | 'quote'>('size-unit', 'base');
export const favourites = kept<string[]>('favourites', []);
