// peer_fpfh.cpp - the Point Cloud Library's FPFH on the pictures of bench_gpu_recognise
//
//     peer_fpfh FILE [RADIUS=0.05] [NORMAL_RADIUS=0.015]
//
// FILE is what `PEER=FILE bench_gpu_recognise` wrote. At the pixels at which tensors of a picture begin a
// histogram describes the points within RADIUS metres; the nearest one of the library's says which shape
// it is. Prints how many are right and what that takes on one core.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <pcl/features/fpfh.h>
#include <pcl/features/normal_3d.h>
#include <pcl/kdtree/kdtree_flann.h>
#include <pcl/point_cloud.h>
#include <pcl/point_types.h>
#include <pcl/search/kdtree.h>

using Cloud = pcl::PointCloud<pcl::PointXYZ>;
using Histograms = pcl::PointCloud<pcl::FPFHSignature33>;

struct Picture {
    bool library;
    int shape;
    Cloud::Ptr cloud = std::make_shared<Cloud>();
    pcl::IndicesPtr seeds = std::make_shared<pcl::Indices>();
};

static double now_ms()
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static bool read(FILE *f, Picture &p)
{
    uint32_t head[5];

    if (fread(head, sizeof head, 1, f) != 1)
        return false;
    std::vector<float> xyz(3ull * head[2] * head[3]);
    std::vector<uint32_t> pixel(head[4]);
    std::vector<int> at(xyz.size() / 3, -1);

    if (fread(xyz.data(), sizeof(float), xyz.size(), f) != xyz.size() ||
        fread(pixel.data(), sizeof(uint32_t), pixel.size(), f) != pixel.size()) {
        fprintf(stderr, "peer_fpfh: the file ends within a picture\n");
        exit(1);
    }
    p.library = head[0];
    p.shape = (int)head[1];
    for (size_t i = 0; i < at.size(); i++)
        if (xyz[3 * i + 2] > 0) {
            at[i] = (int)p.cloud->size();
            p.cloud->push_back(pcl::PointXYZ(xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]));
        }
    for (uint32_t i : pixel)
        if (i < at.size() && at[i] >= 0)
            p.seeds->push_back(at[i]);
    return true;
}

static void describe(const Picture &p, double radius, double normal_radius, Histograms &out, double ms[2])
{
    auto tree = std::make_shared<pcl::search::KdTree<pcl::PointXYZ>>();
    auto normals = std::make_shared<pcl::PointCloud<pcl::Normal>>();
    pcl::NormalEstimation<pcl::PointXYZ, pcl::Normal> normal;
    pcl::FPFHEstimation<pcl::PointXYZ, pcl::Normal, pcl::FPFHSignature33> fpfh;
    double start = now_ms();

    normal.setInputCloud(p.cloud);
    normal.setSearchMethod(tree);
    normal.setRadiusSearch(normal_radius);
    normal.compute(*normals);
    ms[0] += now_ms() - start;
    start = now_ms();
    fpfh.setInputCloud(p.cloud);
    fpfh.setInputNormals(normals);
    fpfh.setIndices(p.seeds);
    fpfh.setSearchMethod(tree);
    fpfh.setRadiusSearch(radius);
    fpfh.compute(out);
    ms[1] += now_ms() - start;
}

int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : nullptr;
    double radius = argc > 2 ? atof(argv[2]) : 0.05, normal_radius = argc > 3 ? atof(argv[3]) : 0.015;
    auto library = std::make_shared<Histograms>();
    std::vector<int> shape_of;
    pcl::KdTreeFLANN<pcl::FPFHSignature33> tree;
    double enrol[2] = {0, 0}, ms[2] = {0, 0}, match = 0;
    size_t pictures = 0, all = 0, right = 0;

    if (!f || !(radius > 0) || !(normal_radius > 0)) {
        fprintf(stderr, "usage: peer_fpfh FILE [RADIUS=0.05] [NORMAL_RADIUS=0.015]\n");
        return 2;
    }
    for (;;) {
        Picture p;
        Histograms found;
        std::vector<int> id(1);
        std::vector<float> d2(1);

        if (!read(f, p))
            break;
        describe(p, radius, normal_radius, found, p.library ? enrol : ms);
        if (p.library) {
            *library += found;
            shape_of.resize(library->size(), p.shape);
            continue;
        }
        if (pictures++ == 0)
            tree.setInputCloud(library);
        double start = now_ms();
        for (const pcl::FPFHSignature33 &h : found) {
            if (!std::isfinite(h.histogram[0]) || tree.nearestKSearch(h, 1, id, d2) != 1)
                continue;
            right += shape_of[(size_t)id[0]] == p.shape;
        }
        match += now_ms() - start;
        all += found.size();
    }
    fclose(f);
    if (!pictures || !all) {
        fprintf(stderr, "peer_fpfh: no picture to be tried\n");
        return 1;
    }
    printf("FPFH, radius %.3f m: %.1f %% of %zu right; library %zu; a picture: normals %.0f ms, histograms %.0f ms, match %.1f ms\n",
           radius, 100.0 * (double)right / (double)all, all, library->size(), ms[0] / (double)pictures, ms[1] / (double)pictures,
           match / (double)pictures);
    return 0;
}
