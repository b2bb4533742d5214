import { getClimate } from "./servers/weather/index.ts";
const cities = ["Oslo", "Tokyo", "Berlin", "Sydney", "London", "Madrid", "Rome", "Nairobi"];
const all = (await Promise.all(cities.map((city) => getClimate({ city, months: [7] })))).map((c) => ({ ...c.months[0]!, name: c.city.name }));
const warm = all.reduce((a, b) => (b.mean > a.mean ? b : a));
const dry = all.reduce((a, b) => (b.precipitation < a.precipitation ? b : a));
console.log("warmest " + warm.name + ", driest " + dry.name);
