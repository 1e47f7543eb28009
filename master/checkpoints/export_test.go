package checkpoints

const (
	MaxLiveRemovals = maxLiveRemovals
	MaxNewStorages  = maxNewStorages
	MaxStorageBytes = maxStorageBytes
)
