import { add } from "./servers/calculator";
import { listCities } from "./servers/weather";

async function measure(calls: number, call: (i: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  await call(0);
  for (let n = 0; n < @RUNS@; n++) {
    const start = performance.now();
    let next = 0;
    await Promise.all(Array.from({ length: @INFLIGHT@ }, async () => { while (next < calls) await call(next++); }));
    times.push(performance.now() - start);
  }
  return times;
}

export const result = {
  slow: await measure(@INFLIGHT@, () => listCities()),
  quick: await measure(@QUICK@, (i) => add({ numbers: [i, 2] })),
};
