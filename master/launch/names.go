package launch

import "math/rand/v2"

// Words for the default names of experiments and tasks.
var (
	moods   = [...]string{"amber", "brave", "calm", "clear", "crisp", "early", "eager", "fair", "fleet", "frosty", "gentle", "golden", "grand", "hardy", "hazel", "ivory", "jolly", "keen", "lively", "lucid", "merry", "mild", "noble", "nimble", "patient", "quick", "quiet", "rapid", "rosy", "sandy", "silver", "sleek", "smooth", "snowy", "steady", "sunny", "swift", "vivid", "warm", "wise"}
	animals = [...]string{"badger", "beaver", "bison", "condor", "crane", "curlew", "dolphin", "egret", "falcon", "ferret", "finch", "gecko", "gibbon", "heron", "hornet", "ibex", "ibis", "jackdaw", "jaguar", "kestrel", "lemur", "lynx", "magpie", "marten", "newt", "ocelot", "osprey", "otter", "panda", "petrel", "plover", "puffin", "raven", "robin", "salmon", "seal", "stork", "tapir", "tern", "weasel"}
)

// petName returns a random name that is easy to pronounce.
func petName() string {
	return moods[rand.IntN(len(moods))] + "-" + moods[rand.IntN(len(moods))] + "-" + animals[rand.IntN(len(animals))]
}
