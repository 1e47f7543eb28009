package v1

type Pagination struct {
	EndIndex   int `json:"endIndex"`
	Limit      int `json:"limit"`
	Offset     int `json:"offset"`
	StartIndex int `json:"startIndex"`
	Total      int `json:"total"`
}
