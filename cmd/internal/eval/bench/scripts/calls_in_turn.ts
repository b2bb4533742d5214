import { add } from "./servers/calculator";
for (let i = 0; i < @WARM@; i++) await add({ numbers: [1, 2] });
export const result: number[] = [];
for (let i = 0; i < @CALLS@; i++) {
  const start = performance.now();
  await add({ numbers: [i, 2] });
  result.push((performance.now() - start) * 1e3);
}
