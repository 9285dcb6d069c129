/*
 * A picture in SVG, put together piece by piece.  Coordinates are pixels from the upper left
 * corner.
 */

#ifndef ELASTIC_RM_SIM_TRACES_SVG_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_SVG_H_INCLUDED

#include <string>
#include <vector>

namespace elastic::rm {

class Svg {
  public:
    struct Point {
        double x, y;
    };
    enum class Anchor { START, MIDDLE, END };

    Svg(int width, int height) : width_(width), height_(height) {}

    void line(Point from, Point to, const std::string &colour);
    /* `tip` is shown at the pointer; empty: none. */
    void box(Point from, double width, double height, const std::string &colour,
             const std::string &tip = "");
    /* Straight lines from point to point; fewer than two points draw nothing. */
    void path(const std::vector<Point> &points, const std::string &colour);
    void text(Point at, const std::string &text, Anchor anchor = Anchor::START, bool bold = false);

    std::string str() const;

  private:
    int width_, height_;
    std::string body_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_SVG_H_INCLUDED */
