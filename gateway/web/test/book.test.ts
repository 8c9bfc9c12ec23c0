// The book: snapshots, diffs, gaps, and levels put together.
import { describe, expect, test } from 'vitest';
import { Book, group, steps } from '../src/store/book';

const snapshot = { last_update_id: 10, bids: [['100', '1'], ['99', '2']] as [string, string][], asks: [['101', '1']] as [string, string][] };

describe('the book', () => {
  test('applies diffs that follow each other', () => {
    const book = new Book();
    book.snapshot(snapshot);
    expect(book.diff({ first: 11, last: 12, bids: [['100', '0'], ['98', '5']], asks: [] })).toBe(true);
    expect(book.sorted('bids')).toEqual([['99', '2'], ['98', '5']]);
    expect(book.best('bids')).toBe('99');
  });
  test('tells a lost diff, of either venue', () => {
    const book = new Book();
    book.snapshot(snapshot);
    expect(book.diff({ first: 13, last: 13, bids: [], asks: [] })).toBe(false);
    expect(book.updateId).toBeNull();
    book.snapshot(snapshot);
    expect(book.diff({ first: 9, last: 12, previous: 8, bids: [['100', '7']], asks: [] })).toBe(true);
    expect(book.diff({ first: 14, last: 15, previous: 13, bids: [], asks: [] })).toBe(false);
  });
  test('keeps what comes before its snapshot, and drops what is older', () => {
    const book = new Book();
    expect(book.diff({ first: 9, last: 10, previous: 8, bids: [['1', '1']], asks: [] })).toBe(false);
    expect(book.diff({ first: 11, last: 11, previous: 10, bids: [['97', '3']], asks: [] })).toBe(false);
    book.snapshot(snapshot);
    expect(book.updateId).toBe(11);
    expect(book.bids.get('97')).toBe('3');
    expect(book.bids.has('1')).toBe(false);
  });
});

describe('levels put together', () => {
  test('bids go down, asks go up, and sums grow', () => {
    const bids: [string, string][] = [['60276.1', '0.1'], ['60270', '0.2'], ['60269.9', '0.3']];
    expect(group(bids, 'bids', '10', 5)).toEqual([{ price: '60270', quantity: '0.3', sum: '0.3' }, { price: '60260', quantity: '0.3', sum: '0.6' }]);
    const asks: [string, string][] = [['60271', '0.1'], ['60280', '0.2'], ['60280.1', '0.3']];
    expect(group(asks, 'asks', '10', 1)).toEqual([{ price: '60280', quantity: '0.3', sum: '0.3' }]);
  });
  test('steps begin at the tick and end where nothing would be seen', () => {
    expect(steps('0.1', '60000')).toEqual(['0.1', '1', '5', '10', '50', '100', '1000']);
    expect(steps('0.0001', '0.25')).toEqual(['0.0001', '0.001', '0.005']);
    expect(steps('1', null)[0]).toBe('1');
  });
});
