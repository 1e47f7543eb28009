//go:build !linux

package masters

import "time"

func setTCPUserTimeout(int, time.Duration) {}
