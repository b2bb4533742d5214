import time
from concurrent.futures import ThreadPoolExecutor
from servers.calculator import add
from servers.weather import list_cities

def measure(calls, call):
    times = []
    with ThreadPoolExecutor(max_workers=@INFLIGHT@) as pool:
        call(0)
        for _ in range(@RUNS@):
            start = time.perf_counter()
            list(pool.map(call, range(calls)))
            times.append((time.perf_counter() - start) * 1e3)
    return times

result = {
    "slow": measure(@INFLIGHT@, lambda i: list_cities()),
    "quick": measure(@QUICK@, lambda i: add(numbers=[i, 2])),
}
