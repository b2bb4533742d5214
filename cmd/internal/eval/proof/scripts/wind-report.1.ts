import { getForecast } from "./servers/weather/index.ts";
import { writeFile } from "./servers/filesystem/index.ts";
const all = await Promise.all(["Oslo", "London", "Berlin", "Madrid"].map((city) => getForecast({ city, days: 10, start_date: "2026-03-01" })));
const lines = all.map((f) => f.city.name + "," + Math.max(...f.days.map((d) => d.wind_speed)));
await writeFile({ path: "reports/wind.csv", content: ["city,wind", ...lines].join("\n") + "\n" });
console.log("reports/wind.csv is written.");
