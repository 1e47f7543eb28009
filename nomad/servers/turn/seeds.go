package turn

import (
	"os"
	"strconv"
)

// Seeds returns the seeds 0 to n-1 of a random test, or, in the runs of one half, every second of them: of two seeds, each commit's run has one.
func Seeds(n int) (seeds []int) {
	now := os.Getenv("TURN")
	for seed := range n {
		if n < 2 || now == "" || now == strconv.Itoa(seed%2) {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}
