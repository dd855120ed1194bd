// peer_pcl.cpp - the Point Cloud Library's answer to what `recond-eval cloud` measures
//
//     peer_pcl A.ply B.ply RADIUS ITERATIONS
//
// Nearest distances of A to B by its FLANN tree, and the motion from A to B by its point-to-point
// ICP from the identity: one line of JSON. Reads clouds as `reconctl export` writes them.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <pcl/kdtree/kdtree_flann.h>
#include <pcl/point_cloud.h>
#include <pcl/point_types.h>
#include <pcl/registration/icp.h>

using Cloud = pcl::PointCloud<pcl::PointXYZ>;

static Cloud::Ptr read(const char *path)
{
    std::ifstream in(path, std::ios::binary);
    auto cloud = std::make_shared<Cloud>();
    std::string line;
    size_t n = 0, stride = 0;

    while (std::getline(in, line) && line != "end_header") {
        if (std::sscanf(line.c_str(), "element vertex %zu", &n) == 1)
            continue;
        if (line.rfind("property float", 0) == 0)
            stride += 4;
        else if (line.rfind("property uchar", 0) == 0)
            stride += 1;
    }
    std::vector<char> point(stride);
    for (size_t i = 0; i < n && in.read(point.data(), (std::streamsize)stride); i++) {
        float p[3];

        std::memcpy(p, point.data(), sizeof p);
        cloud->push_back(pcl::PointXYZ(p[0], p[1], p[2]));
    }
    if (n == 0 || cloud->size() != n) {
        std::fprintf(stderr, "peer_pcl: %s cannot be read\n", path);
        std::exit(1);
    }
    return cloud;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        std::fprintf(stderr, "usage: peer_pcl A.ply B.ply RADIUS ITERATIONS\n");
        return 2;
    }
    Cloud::Ptr a = read(argv[1]), b = read(argv[2]);
    double radius = std::atof(argv[3]), sum = 0, squares = 0, most = 0;
    pcl::KdTreeFLANN<pcl::PointXYZ> tree;
    std::vector<int> id(1);
    std::vector<float> d2(1);

    tree.setInputCloud(b);
    for (const pcl::PointXYZ &p : *a) {
        tree.nearestKSearch(p, 1, id, d2);
        sum += std::sqrt((double)d2[0]);
        squares += d2[0];
        most = std::fmax(most, std::sqrt((double)d2[0]));
    }

    pcl::IterativeClosestPoint<pcl::PointXYZ, pcl::PointXYZ> icp;
    Cloud moved;

    icp.setInputSource(a);
    icp.setInputTarget(b);
    icp.setMaxCorrespondenceDistance(radius);
    icp.setMaximumIterations(std::atoi(argv[4]));
    icp.setTransformationEpsilon(1e-15);
    icp.setEuclideanFitnessEpsilon(1e-15);
    icp.align(moved);
    std::printf("{\"mean\":%.9g,\"rms\":%.9g,\"max\":%.9g,\"converged\":%s,\"motion\":[",
                sum / (double)a->size(), std::sqrt(squares / (double)a->size()), most,
                icp.hasConverged() ? "true" : "false");
    for (int i = 0; i < 16; i++)
        std::printf("%s%.9g", i ? "," : "", (double)icp.getFinalTransformation()(i / 4, i % 4));
    std::printf("]}\n");
    return 0;
}
