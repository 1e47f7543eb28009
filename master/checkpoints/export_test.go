package checkpoints

const (
	MaxLiveRemovals = maxLiveRemovals
	MaxNewStorages  = maxNewStorages
	MaxStorageBytes = maxStorageBytes
)

// RecordLogged records a file that was written.
var RecordLogged = recordLogged
