package v1

// Pagination is a message of the wire.
type Pagination struct {
	EndIndex   int `json:"endIndex"`
	Limit      int `json:"limit"`
	Offset     int `json:"offset"`
	StartIndex int `json:"startIndex"`
	Total      int `json:"total"`
}
