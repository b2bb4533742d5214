import { getForecast } from "./servers/weather/index.ts";
const out = await getForecast({ city: "Oslo", days: 3, start_date: "2026-07-01" });
console.log(out.days.map((d) => d.high).join(" "));
