"""Asks for the forecasts of 20 cities at once and prints the warmest one of the next days."""

import time
from concurrent.futures import ThreadPoolExecutor

from servers.weather import get_forecast, list_cities

cities = list_cities()["cities"][:20]
start = time.perf_counter()
with ThreadPoolExecutor(max_workers=20) as pool:
    asked = [pool.submit(get_forecast, city=city["name"], days=3, start_date="2026-07-01") for city in cities]
    forecasts = [answer.result() for answer in asked]
elapsed = time.perf_counter() - start

warmest = max(forecasts, key=lambda f: max(day["high"] for day in f["days"]))
high = max(day["high"] for day in warmest["days"])
print(f'{len(forecasts)} forecasts; the warmest: {warmest["city"]["name"]}, {high} °C')
result = {"calls": len(forecasts), "milliseconds": round(elapsed * 1000)}
