"""Whether this machine runs on its battery. Asks the operating system now and then."""

from collections.abc import Callable

import psutil

CHECK_S = 30.0


class Power:
    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._checked_s = float("-inf")
        self._is_on_battery = False

    def is_on_battery(self) -> bool:
        """False where there is none, or it cannot be told."""
        if self._clock_s() - self._checked_s > CHECK_S:
            self._checked_s = self._clock_s()
            battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
            self._is_on_battery = battery is not None and battery.power_plugged is False
        return self._is_on_battery
