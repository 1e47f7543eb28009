package trial

import (
	"strconv"
	"strings"
)

// maxPartDigits is how many digits the number of a part may have. The last group of a UUID has more, so it is not read as a number.
const maxPartDigits = 9

// PartID names a part of a trial's task: part 0 is called like the task, and part n, with which the n-th continuation began, <task>-n.
func PartID(task string, n int) string {
	if n == 0 {
		return task
	}
	return task + "-" + strconv.Itoa(n)
}

// PartOf splits the name of a part after the first one into the task and the number of the part.
func PartOf(id string) (task string, n int, ok bool) {
	at := strings.LastIndexByte(id, '-')
	if at <= 0 || len(id)-at-1 > maxPartDigits {
		return "", 0, false
	}
	n, err := strconv.Atoi(id[at+1:])
	if err != nil || n < 1 || PartID(id[:at], n) != id {
		return "", 0, false
	}
	return id[:at], n, true
}

// OfTask reports whether an id is that of a task, or of a part of it.
func OfTask(id, task string) bool {
	of, _, part := PartOf(id)
	return id == task || part && of == task
}
