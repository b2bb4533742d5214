import { describeTable } from "./servers/database/index.ts";
for (const table of ["products", "categories"]) console.log((await describeTable({ table })).sql);
