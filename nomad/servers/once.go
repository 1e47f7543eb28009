package servers

import "context"

// A Part is something in the cache that is made once, by one process while the others wait.
type Part struct {
	Lock    string      // the file of its lock
	There   func() bool // says whether it was made
	Making  string      // what a report calls its making
	Waiting string      // what a report says while another process makes it
	Make    func(context.Context, *Task) error
}

// Once makes a part that is not there. path is where it is, for the report.
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
		return nil // the other process has made it
	}
	task := report.Task(p.Making)
	if err := p.Make(ctx, task); err != nil {
		task.Fail()
		return err
	}
	task.Done(path)
	return nil
}
