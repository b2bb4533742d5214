// Asks for the forecasts of 20 cities at once and prints the warmest one of the next days.
import { getForecast, listCities } from "./servers/weather";

const { cities } = await listCities();
const start = performance.now();
const forecasts = await Promise.all(
  cities.slice(0, 20).map((city) => getForecast({ city: city.name, days: 3, start_date: "2026-07-01" })),
);
const elapsed = performance.now() - start;

const highs = forecasts.map((f) => ({ city: f.city.name, high: Math.max(...f.days.map((day) => day.high)) }));
highs.sort((a, b) => b.high - a.high);
console.log(`${forecasts.length} forecasts; the warmest: ${highs[0]?.city}, ${highs[0]?.high} °C`);
export const result = { calls: forecasts.length, milliseconds: Math.round(elapsed) };
