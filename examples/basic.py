"""Calls one tool. Its arguments and its result are typed. Run it with:

mcprun examples/basic.py
"""

from servers.weather import get_forecast

forecast = get_forecast(city="Oslo", days=3, start_date="2026-07-01")
for day in forecast["days"]:
    print(f'{day["date"]}: {day["low"]} to {day["high"]} °C, {day["condition"]}')
