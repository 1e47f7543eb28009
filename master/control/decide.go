package control

// Decide computes what the loop changes, from a snapshot. It is pure.
//
// Three passes follow each other. The first decides each experiment with its trials (experiments.go), the second each task that
// is not a trial (tasks.go): facts about members end attempts (attempts.go), the end of an attempt changes the state of its trial,
// and requests of users and the search change experiments and trials. This puts new attempts into the queue. The third pass lets
// the scheduler place what is in the queue, the new attempts as well (queue.go).
//
// All passes write into one draft of the plan (plan.go). An error or panic about one experiment, task or pool does not affect the
// others.
func Decide(p *Snapshot) *Plan {
	d := &draft{p: p, plan: &Plan{}, byKey: map[string]int{}, moves: map[string]*move{}}
	rated := &ratings{p: p, counts: countsOf(p)}
	of := &attemptPass{draft: d}
	experiments := &experimentPass{attemptPass: of, rated: rated}
	for _, e := range p.Experiments {
		experiments.experimentBundle(e)
	}
	tasks := &taskPass{attemptPass: of, rated: rated}
	for _, t := range p.Tasks {
		tasks.taskBundle(t)
	}
	for _, w := range p.Collect {
		b := d.of("files of experiment " + w.Subject)
		b.Queue = append(b.Queue, w)
	}
	if len(p.Frozen) == 0 || p.Regions > 1 {
		queue := &queuePass{draft: d, rated: rated}
		queue.schedule()
	}
	d.finish()
	return d.plan
}
