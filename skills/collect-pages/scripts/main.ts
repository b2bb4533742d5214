/** Gets all items of a tool that answers in pages, up to a bound. */

export interface Collected<Item> {
  items: Item[];
  pages: number;
  complete: boolean; // false: there are more than max
}

export async function collectPages<Page, Item, Next extends string | number>(
  fetchPage: (next: Next | undefined) => Promise<Page>,
  read: (page: Page) => { items: Item[] | null | undefined; next: Next | null | undefined },
  options: { max?: number } = {},
): Promise<Collected<Item>> {
  const max = options.max ?? 10_000;
  const items: Item[] = [];
  const seen = new Set<Next>();
  let next: Next | undefined;
  for (let pages = 1; ; pages++) {
    const page = read(await fetchPage(next));
    items.push(...(page.items ?? []));
    if (page.next === null || page.next === undefined) {
      return { items: items.slice(0, max), pages, complete: items.length <= max };
    }
    if (items.length >= max) {
      return { items: items.slice(0, max), pages, complete: false };
    }
    if (seen.has(page.next)) {
      throw new Error(`the server sent the same cursor twice, after ${pages} pages: ${String(page.next).slice(0, 80)}`);
    }
    seen.add(page.next);
    next = page.next;
  }
}
