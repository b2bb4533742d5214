package weather

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// climateCSV holds four rows of twelve monthly values for each city.
//
//go:embed climate.csv
var climateCSV string

// City is one weather station with its normals.
type City struct {
	Name        string
	Country     string
	CountryCode string
	Continent   string
	Latitude    float64 // degrees north
	Longitude   float64 // degrees east
	Elevation   float64 // metres
	Timezone    string  // IANA name
	// Normals by month, January first: mean daily maximum and minimum in °C,
	// precipitation in mm, days with at least 1 mm.
	High, Low, Precipitation, WetDays [12]float64
}

// seriesColumn is the first column that a city's later rows fill in.
const seriesColumn = 8

// parseClimate reads the table of normals; cities come out sorted by name.
func parseClimate(text string) ([]City, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("climate table: %w", err)
	}
	var cities []City
	for i, row := range rows[1:] {
		if len(cities) == 0 || cities[len(cities)-1].Name != row[0] {
			city := City{Name: row[0], Country: row[1], CountryCode: row[2], Continent: row[3], Timezone: row[7]}
			for column, dst := range map[int]*float64{4: &city.Latitude, 5: &city.Longitude, 6: &city.Elevation} {
				if *dst, err = strconv.ParseFloat(row[column], 64); err != nil {
					return nil, fmt.Errorf("climate table row %d: %w", i+2, err)
				}
			}
			cities = append(cities, city)
		}
		city := &cities[len(cities)-1]
		series := map[string]*[12]float64{
			"high_c": &city.High, "low_c": &city.Low, "precip_mm": &city.Precipitation, "wet_days": &city.WetDays,
		}[row[seriesColumn]]
		if series == nil {
			return nil, fmt.Errorf("climate table row %d: unknown series %q", i+2, row[seriesColumn])
		}
		for month := range series {
			if series[month], err = strconv.ParseFloat(row[seriesColumn+1+month], 64); err != nil {
				return nil, fmt.Errorf("climate table row %d: %w", i+2, err)
			}
		}
	}
	slices.SortFunc(cities, func(a, b City) int { return strings.Compare(a.Name, b.Name) })
	return cities, nil
}

// fold makes names comparable: "são paulo " and "Sao Paulo" are the same.
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
