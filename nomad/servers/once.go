package servers

import "context"

// A Part is something in the cache that one process makes once, while others wait.
type Part struct {
	Lock    string      // the file of its lock
	There   func() bool // reports whether it exists
	Making  string      // message while it is made
	Waiting string      // message while another process makes it
	Make    func(context.Context, *Task) error
}

// Once makes a part that does not exist. path is its path, for the report.
func Once(ctx context.Context, path string, p Part, report *Reporter) error {
	if p.There() {
		return nil
	}
	unlock, err := Lock(ctx, p.Lock, func() { report.Say("waiting for another process that is %s", p.Waiting) })
	if err != nil {
		return err
	}
	defer unlock()
	if p.There() {
		return nil // another process has made it
	}
	task := report.Task(p.Making)
	if err := p.Make(ctx, task); err != nil {
		task.Fail()
		return err
	}
	task.Done(path)
	return nil
}
