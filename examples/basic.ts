// Calls one tool. Its arguments and its result are typed. Run it with:
//   mcprun examples/basic.ts
import { getForecast } from "./servers/weather";

const forecast = await getForecast({ city: "Oslo", days: 3, start_date: "2026-07-01" });
for (const day of forecast.days) {
  console.log(`${day.date}: ${day.low} to ${day.high} °C, ${day.condition}`);
}
