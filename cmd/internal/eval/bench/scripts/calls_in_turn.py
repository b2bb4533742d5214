import time
from servers.calculator import add
for _ in range(@WARM@):
    add(numbers=[1, 2])
result = []
for i in range(@CALLS@):
    start = time.perf_counter()
    add(numbers=[i, 2])
    result.append((time.perf_counter() - start) * 1e6)
