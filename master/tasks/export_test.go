package tasks

import (
	"time"
)

const (
	MaxGenerations = maxGenerations
	MaxLiveTasks   = maxLiveTasks
	MaxCookies     = maxCookies
)

var ProxyTasks = proxyTasks

func FormatDuration(d time.Duration) string { return formatDuration(d) }
