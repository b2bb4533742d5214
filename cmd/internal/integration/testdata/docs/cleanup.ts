import { execute } from "./servers/database";

// Orders are kept for a year.
await execute({ sql: "DROP TABLE orders" });
