package pool

// A Class is a kind of node that an autoscaler can add to a pool.
type Class struct {
	Name       string            // node class in Nomad
	Slots      int               // of each node
	Model      string            // of the devices of a node
	Device     map[string]string // attributes that the device plugin reports, such as memory: 40960 MiB
	Attributes map[string]string // of each node; the keys are the names in constraints, without ${ and }
	Max        int               // maximum number of nodes that can be added at a time; 0: no limit for this class
}

// SpotMeta is the attribute of a node that is true on a machine that can go away at any time.
const SpotMeta = "meta.detent.spot"
