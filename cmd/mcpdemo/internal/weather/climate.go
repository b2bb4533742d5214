package weather

import (
	_ "embed"
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed climate.json
var climateJSON []byte

// City is one weather station with its normals by month, January first: mean
// daily maximum and minimum in °C, precipitation in mm, days with at least 1 mm.
type City struct {
	cityInfo
	High          [12]float64 `json:"high"`
	Low           [12]float64 `json:"low"`
	Precipitation [12]float64 `json:"precipitation"`
	WetDays       [12]float64 `json:"wet_days"`
}

// fold makes names comparable: "são paulo " and "Sao Paulo" are equal.
func fold(name string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(strings.TrimSpace(name))) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// distance is the great-circle distance in kilometres.
func distance(lat1, lon1, lat2, lon2 float64) float64 {
	const earthRadius, radian = 6371.0, math.Pi / 180
	dLat, dLon := (lat2-lat1)*radian/2, (lon2-lon1)*radian/2
	h := math.Pow(math.Sin(dLat), 2) + math.Cos(lat1*radian)*math.Cos(lat2*radian)*math.Pow(math.Sin(dLon), 2)
	return 2 * earthRadius * math.Asin(math.Sqrt(min(1, h)))
}
