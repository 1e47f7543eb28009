package lifecycle

// Topics of wake-ups within and between masters. A wake-up carries no data: its receiver
// reads the database.
const (
	TopicIntent = "intent" // a user's request was stored: the loop begins a cycle
	TopicState  = "state"  // the loop has changed something: pages and calls that wait for a state read it
	TopicEvents = "events" // a search has new events, or a runner reported: the loop begins a cycle
)
