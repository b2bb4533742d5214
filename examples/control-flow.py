"""Loops over cities, decides by what a tool returns, and handles errors. Run it with:

mcprun examples/control-flow.py
"""

import time
from collections.abc import Callable
from typing import TypeVar

from mcprun import MCPError, MCPToolError
from servers.weather import get_forecast

T = TypeVar("T")


def retry(call: Callable[[], T]) -> T:
    """Makes a call up to three times. is_retryable means that repeating the call does nothing twice."""
    for attempt in (1, 2):
        try:
            return call()
        except MCPError as error:
            if not error.is_retryable:
                raise
            time.sleep(attempt * 0.1)
    return call()


for city in ["Cairo", "Oslo", "Atlantis"]:
    try:
        forecast = retry(lambda: get_forecast(city=city, days=7, start_date="2026-07-01"))
    except MCPToolError:
        print(f"{city}: no forecast")
        continue
    wet = [day["weekday"] for day in forecast["days"] if day["precipitation"] > 0]
    if not wet:
        print(f"{city}: dry all week")
    else:
        print(f'{city}: rain on {", ".join(wet)}')
