// Parses a file and asks it three questions.
#include <cstdio>
#include "pugixml.hpp"

int main(int argc, char** argv) {
    pugi::xml_document document;
    if (!document.load_file(argv[1])) return 1;
    int dear = 0;
    for (pugi::xml_node item : document.child("list").children("item")) dear += item.attribute("price").as_int() > 50;
    std::printf("%d\n", dear);
    std::printf("%.0f\n", document.select_node("/list").node().select_nodes("item[@price > 50]").size() * 1.0);
    document.save_file("out.xml");
}
