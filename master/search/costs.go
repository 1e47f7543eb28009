package search

// costs is what a search with a budget knows of the cost of trainings. An attempt that trains by x units
// costs `start + unit·x`; both are the line through the attempts that have ended, so what attempts cost that failed
// or were preempted is in it. A trial whose attempts cost more or less than the line says, because its network is larger, keeps
// its own factor. The sums are kept, not the attempts: each event takes the same time.
type costs struct {
	trials []trialCost

	n, x, y, xx, xy float64 // sums over the attempts that have ended: their number, units and costs

	// Sums over the trials that should run, or whose last attempt has not ended.
	active  int
	factors float64 // of their speeds
	gaps    float64 // units that their attempts train, times the factors
	gained  float64 // units that they have reported in these attempts
}

// A trialCost is what the attempts of a trial cost.
type trialCost struct {
	active   bool
	begun    float64                       // units that it had trained when its attempt began
	units    float64                       // units that it has trained
	aim      float64                       // units to which it trains
	factor   float64                       // how much more its attempts cost than those of others; 0: not known, which is 1
	spent    float64                       // by its attempts that have ended
	expected float64                       // what the line says of these attempts
	last     struct{ units, cost float64 } // of its attempt that ended last
}

func (c *costs) at(trial int) *trialCost {
	for len(c.trials) <= trial {
		c.trials = append(c.trials, trialCost{})
	}
	return &c.trials[trial]
}

func (t *trialCost) speed() float64 {
	if t.factor > 0 {
		return t.factor
	}
	return 1
}

func (t *trialCost) gap() float64 { return max(0, t.aim-t.begun) }

// begin says that a trial should train up to a length.
func (c *costs) begin(trial int, aim float64) {
	t := c.at(trial)
	if t.active {
		c.leave(trial)
	} else {
		t.begun = t.units
	}
	t.active, t.aim = true, aim
	c.active++
	c.factors += t.speed()
	c.gaps += t.speed() * t.gap()
	c.gained += t.units - t.begun
}

// leave says that no attempt of a trial runs or should run.
func (c *costs) leave(trial int) {
	t := c.at(trial)
	if !t.active {
		return
	}
	t.active = false
	c.active--
	c.factors -= t.speed()
	c.gaps -= t.speed() * t.gap()
	c.gained -= t.units - t.begun
	if c.active == 0 { // sums of fractions drift
		c.factors, c.gaps, c.gained = 0, 0, 0
	}
}

// reached says that a trial has trained so many units.
func (c *costs) reached(trial int, units float64) {
	t := c.at(trial)
	if units <= t.units {
		return
	}
	if t.active {
		c.gained += units - t.units
	}
	t.units = units
}

// attemptEnded learns from an attempt; goesOn says that its trial has not ended.
func (c *costs) attemptEnded(trial int, cost float64, goesOn bool) {
	t := c.at(trial)
	gained := t.units - t.begun
	aim, active := t.aim, t.active
	c.leave(trial)
	if start, unit, known := c.line(); known {
		t.expected += start + unit*gained
		t.spent += cost
		// As if one more attempt of average cost had been as expected.
		if mean := c.y / c.n; t.expected+mean > 0 {
			t.factor = (t.spent + mean) / (t.expected + mean)
		}
	}
	c.n++
	c.y += cost
	c.train(gained, cost)
	t.last.units, t.last.cost = gained, cost
	t.begun = t.units
	if active && goesOn {
		c.begin(trial, aim)
	}
}

// train adds the units of an attempt with this cost to the line.
func (c *costs) train(units, cost float64) {
	c.x += units
	c.xx += units * units
	c.xy += units * cost
}

// completed says that a trial has trained to its end that has not reported how long it trained.
func (c *costs) completed(trial int, full float64) {
	if t := c.at(trial); t.units == 0 && t.last.cost > 0 {
		c.train(full, t.last.cost)
		t.units = full
	}
}

// minLine is from how many attempts on the line has a part for each attempt.
const minLine = 4

// line returns what an attempt costs, and each unit of it. known is false before an attempt that has ended has trained.
func (c *costs) line() (start, unit float64, known bool) {
	if c.x <= 0 {
		return 0, 0, false
	}
	spread := c.n*c.xx - c.x*c.x
	if c.n >= minLine && spread > 1e-9*c.n*c.xx {
		unit = (c.n*c.xy - c.x*c.y) / spread
		if start = (c.y - unit*c.x) / c.n; unit >= 0 && start >= 0 {
			return start, unit, true
		}
	}
	return 0, c.y / c.x, true
}

// minGained is what part of their training the first trials must have reported before the search believes what it costs.
const minGained = 0.1

// estimate is the line or, before there is one, what the attempts say that have not ended and cost `running` so far.
func (c *costs) estimate(running float64) (start, unit float64, known bool) {
	start, unit, known = c.line()
	if !known && running > 0 && c.gained > 0 && c.gained >= minGained*c.gaps {
		return 0, running / c.gained, true
	}
	return start, unit, known
}

// cost is what training a trial up to a length costs, beside what its attempt costs that runs; -1 is a new trial.
func (c *costs) cost(trial int, to, running float64) (cost float64, known bool) {
	start, unit, known := c.estimate(running)
	if trial < 0 {
		return start + unit*to, known
	}
	t := c.at(trial)
	from := t.units
	if t.active {
		start, from = 0, max(from, t.aim)
	}
	return t.speed() * (start + unit*max(0, to-from)), known
}

// committed is what the attempts of all trials that run cost, from their beginning to the lengths to which they train.
func (c *costs) committed(running float64) float64 {
	start, unit, known := c.estimate(running)
	if !known {
		return 0
	}
	return start*c.factors + unit*c.gaps
}
