// Loops over cities, decides by what a tool returns, and handles errors. Run it with:
//   mcprun examples/control-flow.ts
import { MCPError, MCPToolError } from "mcprun";
import { getForecast } from "./servers/weather";

// Makes a call up to three times. isRetryable means that repeating the call does nothing twice.
async function retry<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof MCPError) || !error.isRetryable || attempt === 3) throw error;
      await new Promise((resolve) => setTimeout(resolve, attempt * 100));
    }
  }
}

for (const city of ["Cairo", "Oslo", "Atlantis"]) {
  try {
    const { days } = await retry(() => getForecast({ city, days: 7, start_date: "2026-07-01" }));
    const wet = days.filter((day) => day.precipitation > 0);
    if (wet.length === 0) {
      console.log(`${city}: dry all week`);
    } else {
      console.log(`${city}: rain on ${wet.map((day) => day.weekday).join(", ")}`);
    }
  } catch (error) {
    if (!(error instanceof MCPToolError)) throw error;
    console.log(`${city}: no forecast`);
  }
}
