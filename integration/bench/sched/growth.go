package main

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	"github.com/detent-ml/detent/integration/bench/sched/sim"
)

// sizes are the clusters of -growth, in nodes. Of each node eight slots are held, and ten jobs wait.
var sizes = []int{125, 250, 500, 1000, 2000, 3000, 4000, 5000}

const waitingPerNode = 10

// growth measures the processor time of a plan under each policy of sched. The fastest of some plans counts, because other
// work of the machine slows the others.
func growth(of sim.Shape, seed uint64, runs int, plot string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all := own()
	took := make([][]time.Duration, len(all))
	fmt.Printf("%s, %d jobs wait for each node of 8 slots; processor time of a plan, the fastest of %d\n\n| nodes |", of.Name, waitingPerNode, runs)
	for _, p := range all {
		fmt.Printf(" %s |", p.name)
	}
	fmt.Print("\n|---|---|---|---|---|\n")
	for _, nodes := range sizes {
		cluster, running, queued := sim.Crowd(seed, of, nodes, waitingPerNode*nodes)
		now := queued[len(queued)-1].QueuedAt.Add(time.Hour)
		fmt.Printf("| %d |", nodes)
		for i, p := range all {
			fastest := time.Duration(1 << 62)
			for range runs {
				begin := used()
				p.plan(&p.of, cluster, running, queued, now)
				fastest = min(fastest, used()-begin)
			}
			took[i] = append(took[i], fastest)
			fmt.Printf(" %.1f ms |", milliseconds(fastest))
		}
		fmt.Println()
	}
	write(plot, growthPicture(all, took))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// growthPicture draws the time of a plan over the size of the cluster.
func growthPicture(all []*policy, took [][]time.Duration) []byte {
	var b bytes.Buffer
	begin(&b, 560, 400)
	most := 50.0
	for _, times := range took {
		for _, d := range times {
			most = max(most, milliseconds(d))
		}
	}
	step := 50.0
	for most > 4*step {
		step *= 2
	}
	largest := float64(sizes[len(sizes)-1])
	panel(&b, 60, 50, "milliseconds of a plan, by nodes of 8 slots", func(draw func(s style, points [][2]float64)) {
		for i, times := range took {
			var points [][2]float64
			for j, d := range times {
				points = append(points, [2]float64{float64(sizes[j]) / largest, milliseconds(d) / (4 * step)})
			}
			draw(styles[all[i].name], points)
		}
	})
	for i := range 5 {
		text(&b, 52, 350-75*float64(i), "end", fmt.Sprint(step*float64(i)))
	}
	for i := range 6 {
		text(&b, 60+75*float64(i), 368, "middle", fmt.Sprint(i*sizes[len(sizes)-1]/5))
	}
	legend(&b, all, 60, 390, 100)
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}
