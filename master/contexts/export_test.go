package contexts

const (
	PartBytes = partBytes
	ReadBytes = readBytes
)
